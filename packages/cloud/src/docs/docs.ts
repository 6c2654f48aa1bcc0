/** /openapi.json and /docs: the API to read and to try, from our own host. Neither needs a key; calls made from it do. */
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import express, { Router } from 'express';
import type { Endpoint } from '../http/endpoint.js';
import { openApiDocument } from '../http/openapi.js';

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Drover API</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
<link rel="icon" href="/docs/favicon-32x32.png">
</head>
<body>
<div id="swagger-ui"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`;

const START = `window.ui = SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  persistAuthorization: false,
  validatorUrl: null,
});
`;

const POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; frame-ancestors 'none'";

/** Only what the page loads; the package brings far more. */
const ASSETS: readonly string[] = ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png'];

export function docsRouter(endpoints: readonly Endpoint[]): Router {
  const document = JSON.stringify(openApiDocument(endpoints));
  const assets = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  const router = Router({ caseSensitive: true });
  router.get('/openapi.json', (_request, response) => {
    response.type('application/json').send(document);
  });
  router.get('/docs', (_request, response) => {
    response.setHeader('content-security-policy', POLICY);
    response.type('html').send(PAGE);
  });
  router.get('/docs/start.js', (_request, response) => {
    response.type('text/javascript').send(START);
  });
  const files = express.static(assets, { index: false, fallthrough: true, maxAge: '1h' });
  router.use('/docs', (request, response, next) => {
    if (ASSETS.includes(request.path.slice(1))) files(request, response, next);
    else next();
  });
  return router;
}
