/** /app: a plain page that asks for an API key, keeps it in the tab, and shows the robots. The dashboard comes in its place. */
import { Router } from 'express';

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Drover</title>
<link rel="stylesheet" href="/app/style.css">
</head>
<body>
<h1>Drover</h1>
<form id="enter">
<label for="key">API key</label>
<input id="key" type="password" autocomplete="off" spellcheck="false" required>
<button>Show robots</button>
</form>
<p id="say" role="status"></p>
<table id="table" hidden>
<thead><tr><th>Robot</th><th>Name</th><th>State</th><th>Since</th><th>Agent</th>
<th>CPU %</th><th>RAM %</th><th>Disk %</th><th>Battery %</th></tr></thead>
<tbody id="robots"></tbody>
</table>
<p><a href="/docs">API documentation</a></p>
<script src="/app/app.js"></script>
</body>
</html>
`;

const SCRIPT = `'use strict';
const byId = (id) => document.getElementById(id);
const percent = (value) => (value < 0 ? '–' : value.toFixed(0));
let timer;

async function show() {
  clearTimeout(timer);
  const key = sessionStorage.getItem('drover-key');
  if (!key) return;
  try {
    const answer = await fetch('/robots', { headers: { 'svc-api-key': key } });
    const body = await answer.json();
    if (answer.status === 401) sessionStorage.removeItem('drover-key');
    if (!answer.ok) throw new Error(body.message);
    byId('robots').replaceChildren(...body.map(row));
    byId('table').hidden = false;
    byId('say').textContent = body.length + (body.length === 1 ? ' robot' : ' robots');
    timer = setTimeout(show, 3000);
  } catch (error) {
    byId('say').textContent = error.message;
    if (sessionStorage.getItem('drover-key')) timer = setTimeout(show, 3000);
  }
}

function row(robot) {
  const state = robot.online ? 'online' : robot.provisioned ? 'offline' : 'never connected';
  const { cpu, ram, disk, battery } = robot.vitals;
  const tr = document.createElement('tr');
  tr.className = robot.online ? 'online' : 'offline';
  const since = new Date(robot.online_updated_at).toLocaleString();
  const cells = [robot.id, robot.name, state, since, robot.agent_version, ...[cpu, ram, disk, battery].map(percent)];
  for (const text of cells) tr.appendChild(document.createElement('td')).textContent = text;
  return tr;
}

byId('enter').addEventListener('submit', (event) => {
  event.preventDefault();
  sessionStorage.setItem('drover-key', byId('key').value.trim());
  byId('key').value = '';
  void show();
});
void show();
`;

const STYLE = `body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
form { display: flex; gap: .5rem; align-items: center; flex-wrap: wrap; }
input { flex: 1 1 20rem; padding: .4rem; font: inherit; }
button { padding: .4rem 1rem; font: inherit; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid #ccc; padding: .3rem .6rem; text-align: left; }
.online td:nth-child(3) { color: #06703a; font-weight: 600; }
.offline td:nth-child(3) { color: #8a4b00; }
`;

const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-ancestors 'none'";

export function statusPageRouter(): Router {
  const router = Router({ caseSensitive: true });
  router.get('/app', (_request, response) => {
    response.setHeader('content-security-policy', POLICY);
    response.type('html').send(PAGE);
  });
  router.get('/app/app.js', (_request, response) => {
    response.type('text/javascript').send(SCRIPT);
  });
  router.get('/app/style.css', (_request, response) => {
    response.type('text/css').send(STYLE);
  });
  // For who opens our address in a browser; to programs, / is a route that is not there.
  router.get('/', (request, response, next) => {
    if (request.get('accept')?.includes('text/html')) response.redirect('/app');
    else next();
  });
  return router;
}
