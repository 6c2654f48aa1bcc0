import { execFile } from 'node:child_process';
import { closeSync, fsyncSync, mkdirSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Logger } from 'pino';
import type { Config } from '../config.js';
import { DataDirBusyError, lockDataDir } from '../disk/instance-lock.js';
import { openGraph } from '../open-graph.js';
import { type Finding, fail, ok, warn } from './finding.js';

const COMMAND_TIMEOUT_MS = 10_000;
/** With less the agent soon can't write what it must. */
const FREE_BYTES_MIN = 100e6;
/** A command costs two of these. */
const FSYNC_MS_MAX = 50;
const FSYNC_TRIES = 5;
/** Discovery takes about this long. */
const DISCOVERY_MS = 2_000;

/** Whether the data directory takes what the agent writes, how fast, and how much of it. */
export function checkDisk({ dataDir, spoolBytesMax }: Pick<Config, 'dataDir' | 'spoolBytesMax'>): Finding[] {
  let fsyncMs: number;
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    fsyncMs = measureFsync(join(dataDir, 'doctor.tmp'));
  } catch (error) {
    const remedy = 'set DROVER_DATA_DIR to a directory that this user can write, on a disk with room';
    return [fail('disk', `${dataDir} can not be written: ${messageOf(error)}`, remedy)];
  }
  const findings = [freeSpace(dataDir, spoolBytesMax)];
  const speed = `a write is on disk after ${fsyncMs.toFixed(1)} ms`;
  const slow = 'commands wait for it twice: put DROVER_DATA_DIR on a faster disk if that matters';
  findings.push(fsyncMs > FSYNC_MS_MAX ? warn('disk', speed, slow) : ok('disk', speed));
  try {
    lockDataDir(dataDir)();
  } catch (error) {
    if (!(error instanceof DataDirBusyError))
      return [...findings, fail('disk', messageOf(error), 'see the line above')];
    findings.push(ok('agent', `one is running in ${dataDir}`));
  }
  return findings;
}

/** Whether the ROS graph can be joined. */
export async function checkRos({ ros }: Pick<Config, 'ros'>, log: Logger): Promise<Finding> {
  if (ros === 'simulated') return ok('ros', 'a simulated robot inside the agent (DROVER_ROS=simulated)');
  try {
    const graph = await openGraph(ros, log);
    await graph.start();
    await new Promise((resolve) => setTimeout(resolve, DISCOVERY_MS));
    const topics = await graph.topics();
    await graph.stop();
    const domain = process.env.ROS_DOMAIN_ID || '0';
    const others = topics.filter((topic) => topic.publisherCount > 0);
    const joined = `ROS 2 ${graph.distro ?? ''} joined, domain ${domain}`;
    if (others.length > 0) return ok('ros', `${joined}: ${others.length} topics with publishers`);
    const remedy = "start the robot's nodes, and use their ROS_DOMAIN_ID and RMW_IMPLEMENTATION here";
    return warn('ros', `${joined}, but no topic has a publisher`, remedy);
  } catch (error) {
    return fail('ros', messageOf(error), 'source ROS 2 and run npm ci there, or use DROVER_ROS=simulated');
  }
}

/** Docker and its compose plugin, which only compose files need. */
export async function checkDocker(): Promise<Finding[]> {
  const why = 'only needed for compose files';
  const server = await output('docker', ['version', '--format', '{{.Server.Version}}']);
  if (server.error === 'ENOENT') return [warn('docker', 'is not installed', `${why}: install Docker Engine`)];
  const findings = [
    server.error === null
      ? ok('docker', `engine ${server.text}`)
      : warn('docker', `the engine does not answer: ${server.error}`, `${why}: start it, and let this user use it`),
  ];
  const compose = await output('docker', ['compose', 'version', '--short']);
  findings.push(
    compose.error === null
      ? ok('compose', `plugin ${compose.text}`)
      : warn('compose', 'docker has no compose plugin', `${why}: install docker-compose-plugin`),
  );
  return findings;
}

function freeSpace(dataDir: string, spoolBytesMax: number): Finding {
  const { bavail, bsize } = statfsSync(dataDir);
  const free = bavail * bsize;
  const words = `${megabytes(free)} free for ${dataDir}`;
  if (free < FREE_BYTES_MIN) return fail('disk', words, `make room: at least ${megabytes(FREE_BYTES_MIN)} are needed`);
  if (free >= spoolBytesMax) return ok('disk', words);
  return warn('disk', `${words}, the spool may grow to ${megabytes(spoolBytesMax)}`, 'lower DROVER_SPOOL_MAX_MB');
}

/** The median of a few writes with fsync, milliseconds. */
function measureFsync(path: string): number {
  const file = openSync(path, 'w', 0o600);
  try {
    const times = Array.from({ length: FSYNC_TRIES }, () => {
      const from = performance.now();
      writeSync(file, Buffer.alloc(4096));
      fsyncSync(file);
      return performance.now() - from;
    });
    return times.sort((a, b) => a - b)[Math.floor(FSYNC_TRIES / 2)] ?? 0;
  } finally {
    closeSync(file);
    rmSync(path, { force: true });
  }
}

async function output(command: string, args: string[]): Promise<{ text: string; error: string | null }> {
  try {
    const { stdout } = await promisify(execFile)(command, args, { timeout: COMMAND_TIMEOUT_MS });
    return { text: stdout.trim(), error: null };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    const stderr = error instanceof Error && 'stderr' in error ? String(error.stderr).trim().split('\n')[0] : '';
    return { text: '', error: code === 'ENOENT' ? 'ENOENT' : stderr || messageOf(error) };
  }
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
