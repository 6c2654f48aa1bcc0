import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadRclnodejs } from './load.js';

describe('loading rclnodejs', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'drover-rclnodejs-'));
    writeFileSync(join(folder, 'package.json'), '{"main": "index.js"}');
    // What the real one does where it can't load its addon.
    writeFileSync(join(folder, 'index.js'), "require('fs').rmSync(__dirname + '/build', { recursive: true });");
    mkdirSync(join(folder, 'build/Release'), { recursive: true });
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  const addon = () => join(folder, 'build/Release/rclnodejs.node');
  const env = () => ({ AMENT_PREFIX_PATH: '/opt/ros/jazzy', ROS_DISTRO: 'jazzy', DROVER_RCLNODEJS: folder });

  it('does not touch it where no ROS is sourced', () => {
    cpSync(process.execPath, addon());
    const { AMENT_PREFIX_PATH: _, ...unsourced } = env();
    expect(() => loadRclnodejs(unsourced)).toThrow(expect.objectContaining({ code: 'not_sourced' }));
    expect(existsSync(addon())).toBe(true);
  });

  it('says that there is no addon, instead of building one', () => {
    expect(() => loadRclnodejs(env())).toThrow(expect.objectContaining({ code: 'not_installed' }));
    expect(existsSync(join(folder, 'build'))).toBe(true);
  });

  it('says why the addon does not load, and leaves it there', () => {
    writeFileSync(addon(), 'not a shared library');
    expect(() => loadRclnodejs(env())).toThrow(
      expect.objectContaining({ code: 'does_not_load', message: expect.stringContaining('rclnodejs.node') }),
    );
    expect(existsSync(addon())).toBe(true);
  });
});
