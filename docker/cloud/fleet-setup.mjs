// What docker/compose.yaml runs once before its robots: gets itself an API key, creates the robots that are not there yet,
// leaves each robot's token in its volume, and prints how to go on. Run again, it finds everything made and changes nothing.
//
// ROBOTS: ids, with spaces between. Each robot's volume is at /fleet/ID, the cloud's data in DROVER_DATA_DIR.
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const { CLOUD_URL, PUBLIC_URL, ROBOTS, DROVER_DATA_DIR } = process.env;
const robots = ROBOTS.split(' ').filter((id) => id !== '');
const keyFile = join(DROVER_DATA_DIR, 'fleet-key');
/** Whoever the cloud runs as owns its volume, and agents run as the same user. */
const owner = statSync(DROVER_DATA_DIR);

try {
  const key = await apiKey();
  for (const id of robots) await robot(id, key);
  console.log(words(key));
} catch (error) {
  console.error(`The fleet could not be set up: ${error.message}`);
  process.exit(1);
}

/** The key of the run before, unless it was revoked or belongs to another store. */
async function apiKey() {
  if (existsSync(keyFile)) {
    const kept = readFileSync(keyFile, 'utf8').trim();
    if ((await call(kept, 'GET', '/robots')).status === 200) return kept;
  }
  const cloud = '/app/packages/cloud/bin/drover-cloud.js';
  const printed = execFileSync(process.execPath, [cloud, 'keys', 'create', 'fleet'], { encoding: 'utf8' });
  const key = /drk_\S+/.exec(printed)?.[0];
  if (key === undefined) throw new Error(`drover-cloud keys create printed no key: ${printed}`);
  keep(keyFile, key);
  return key;
}

/** Creates the robot; where it is there and its token is not, it gets another token. */
async function robot(id, key) {
  const volume = join('/fleet', id);
  const tokenFile = join(volume, 'token');
  chownSync(volume, owner.uid, owner.gid);
  chmodSync(volume, 0o700);
  const created = await call(key, 'POST', '/robots', { id });
  if (created.status === 409 && existsSync(tokenFile)) return;
  const { status, body } = created.status === 409 ? await call(key, 'POST', `/robots/${id}/token`) : created;
  if (body?.token === undefined) throw new Error(`robot ${id}: ${status} ${body?.message}`);
  keep(tokenFile, body.token);
}

/** Whole or not at all, and its owner's alone. */
function keep(file, text) {
  writeFileSync(`${file}.new`, `${text}\n`, { mode: 0o600 });
  chownSync(`${file}.new`, owner.uid, owner.gid);
  renameSync(`${file}.new`, file);
}

async function call(key, method, path, body) {
  const response = await fetch(CLOUD_URL + path, {
    method,
    headers: { 'svc-api-key': key, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: await response.json() };
}

function words(key) {
  const [id] = robots;
  return `
The fleet is set up: ${robots.join(', ')}. In another terminal:

  export DROVER_API=${PUBLIC_URL} KEY=${key}
  alias drover='curl -s -H "svc-api-key: $KEY" -H "content-type: application/json"'

  drover $DROVER_API/robots
  drover $DROVER_API/robots/${id}/streams -d '{"source": "/odom", "type": "nav_msgs/msg/Odometry", "hz": 5}'
  drover $DROVER_API/robots/${id}/commands -d '{"interface": "topic", "name": "/cmd_vel",
    "type": "geometry_msgs/msg/Twist", "payload": {"linear": {"x": 0.2}}}'
  drover "$DROVER_API/robots/${id}/data?source=/odom&limit=3"
`;
}
