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

  it.each([
    [{ RMW_IMPLEMENTATION: 'rmw_of_nobody_cpp' }, 'this ROS 2 does not have: install it'],
    [{ ROS_DOMAIN_ID: '233' }, 'ROS_DOMAIN_ID is "233": use a whole number from 0 to 232'],
    [{ ROS_DOMAIN_ID: 'lab' }, 'ROS_DOMAIN_ID is "lab"'],
  ])('refuses %o, with which ROS would end the process', (wrong, words) => {
    cpSync(process.execPath, addon());
    expect(() => loadRclnodejs({ ...env(), ...wrong })).toThrow(
      expect.objectContaining({ code: 'wrong_environment', message: expect.stringContaining(words) }),
    );
  });

  it('takes the middleware that is among the libraries, and any domain that there is', () => {
    mkdirSync(join(folder, 'lib'));
    writeFileSync(join(folder, 'lib/librmw_x_cpp.so'), '');
    const right = {
      AMENT_PREFIX_PATH: `/opt/ros/jazzy:${folder}`,
      RMW_IMPLEMENTATION: 'rmw_x_cpp',
      ROS_DOMAIN_ID: '232',
    };
    expect(() => loadRclnodejs({ ...env(), ...right })).toThrow(expect.objectContaining({ code: 'not_installed' }));
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
