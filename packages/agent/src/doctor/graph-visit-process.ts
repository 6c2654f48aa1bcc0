/** The process in which doctor visits the ROS graph (ros.ts starts it): says what it found, and ends. */
import { visitGraph } from './graph-visit.js';

const visit = await visitGraph(process.env, () => performance.now());
// Whatever ROS keeps alive must not keep doctor waiting.
process.send?.(visit, () => process.exit(0));
