import { randomBytes } from 'node:crypto';
import type { RobotComposeFile } from '@drover/shared/api/compose';
import type { RobotComposeDetail, RobotComposeService } from '@drover/shared/api/compose-detail';
import { expect } from 'vitest';
import { TestAgent } from '../agent.js';
import { type Answer, TestCloud } from '../cloud.js';
import { type Container, DockerCli } from './docker.js';
import { TestImages } from './images.js';

/** A compose document, or a part of one. */
export type Content = Record<string, unknown>;

export const ROBOT = 'rover-1';
const PATH = `/robots/${ROBOT}/compose-file`;

/** The whole system: a cloud, and the robot `rover-1` whose agent deploys to a real engine, under a project of its own. */
export class DockerRobot {
  readonly project = `drover-test-${randomBytes(4).toString('hex')}`;
  readonly docker: DockerCli;
  readonly images: TestImages;
  readonly cloud: TestCloud;
  #agent: TestAgent | undefined;
  #files = 0;

  private constructor(cloud: TestCloud, docker: DockerCli) {
    this.cloud = cloud;
    this.docker = docker;
    this.images = new TestImages(docker);
  }

  /**
   * Resolves once the robot is online.
   * @param docker the engine it deploys to; by default the one that the tests use
   * @param env of the agent
   */
  static async start(options: { docker?: DockerCli; env?: Record<string, string> } = {}): Promise<DockerRobot> {
    const { docker = new DockerCli(), env } = options;
    const cloud = await TestCloud.start();
    const robot = new DockerRobot(cloud, docker);
    robot.#agent = await TestAgent.start({
      url: cloud.url,
      token: await cloud.register(ROBOT),
      env: {
        DROVER_COMPOSE_PROJECT: robot.project,
        DROVER_COMPOSE_HEALTH_TIMEOUT_S: '30',
        ...docker.env,
        ...env,
      },
    });
    await cloud.online(ROBOT);
    return robot;
  }

  get agent(): TestAgent {
    if (!this.#agent) throw new Error('the agent was not started');
    return this.#agent;
  }

  /** Stores a file under an id of its own, or a new version of one that there is. Returns its id. */
  async store(content: Content, id?: string): Promise<string> {
    const file = id ?? `file-${++this.#files}`;
    const answer =
      id === undefined
        ? await this.cloud.call('POST', '/compose-files', { id: file, content })
        : await this.cloud.call('PATCH', `/compose-files/${file}`, { content });
    if (answer.status >= 300) throw new Error(`not stored: ${answer.status} ${JSON.stringify(answer.body)}`);
    return file;
  }

  /** Puts the file on the robot; resolves when the cloud has taken that, not when it is done. */
  async assign(id: string, more: Record<string, unknown> = {}): Promise<void> {
    const answer = await this.cloud.call('POST', PATH, { id, ...more });
    expect(answer, JSON.stringify(answer.body)).toMatchObject({ status: 202 });
  }

  async remove(volumes = false): Promise<void> {
    const answer = await this.cloud.call('DELETE', `${PATH}?volumes=${volumes}`);
    expect(answer, JSON.stringify(answer.body)).toMatchObject({ status: 202 });
  }

  /** Stores the content, puts it on the robot and waits for what becomes of it. Returns the file's id. */
  async deploy(content: Content, expected: 'up' | 'error' = 'up'): Promise<string> {
    const id = await this.store(content);
    await this.assign(id);
    const { state } = await this.settled();
    const detail = await this.detail();
    expect(state, JSON.stringify(detail, null, 1)).toBe(expected);
    expect(detail).toMatchObject({ id });
    return id;
  }

  /** The file on the robot once its state is a last word. */
  settled(withinMs = 80_000): Promise<RobotComposeFile> {
    return this.until(({ state }) => state === 'up' || state === 'down' || state === 'error', withinMs);
  }

  until(satisfied: (file: RobotComposeFile) => boolean, withinMs?: number): Promise<RobotComposeFile> {
    return this.cloud.until(PATH, satisfied, withinMs);
  }

  detail(satisfied: (detail: RobotComposeDetail) => boolean = () => true): Promise<RobotComposeDetail> {
    return this.cloud.until(`${PATH}/detail`, satisfied);
  }

  services(satisfied: (services: RobotComposeService[]) => boolean = () => true): Promise<RobotComposeService[]> {
    return this.cloud.until(`${PATH}/services`, satisfied);
  }

  plan(body: Record<string, unknown>): Promise<Answer> {
    return this.cloud.call('POST', `${PATH}/plan`, body);
  }

  /** What the service wrote on stdout, all its containers, by the API. */
  async logs(service: string, tail = 100): Promise<string> {
    type Logs = { containers: { lines: { text: string }[] }[] };
    const { containers } = await this.cloud.get<Logs>(`${PATH}/services/${service}/logs?tail=${tail}`);
    return containers.flatMap(({ lines }) => lines.map(({ text }) => text)).join('\n');
  }

  /** What the engine has of the project, ended ones too. */
  containers(): Promise<Container[]> {
    return this.docker.containers(this.project);
  }

  /** `web tags/of:image running` of each container. */
  async running(): Promise<string[]> {
    return (await this.containers()).map(({ service, image, state }) => `${service} ${image} ${state}`);
  }

  async stop(): Promise<void> {
    const code = await this.#agent?.stop();
    await this.docker.removeProject(this.project);
    await this.images.remove();
    expect(code).toBe(0);
    expect(await this.cloud.stop()).toBe(0);
  }
}

/** A service that runs, and ends at once where it is told to. */
export function runs(image: string, more: Content = {}): Content {
  return { image, stop_grace_period: '1s', ...more };
}
