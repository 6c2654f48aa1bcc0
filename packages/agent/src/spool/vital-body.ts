import type { DataRow } from '@drover/shared/link/batch';
import type { VitalSample } from './rows.js';

export function vitalBody(sample: VitalSample): Uint8Array {
  const { cpu, ram, disk, battery } = sample;
  return Buffer.from(JSON.stringify({ cpu, ram, disk, battery }));
}

export function vitalRow(robotStampMs: number, body: Uint8Array): DataRow {
  try {
    return { kind: 'vital', robot_stamp_ms: robotStampMs, ...JSON.parse(Buffer.from(body).toString()) };
  } catch {
    return { kind: 'gone' };
  }
}
