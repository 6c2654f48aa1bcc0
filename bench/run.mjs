// `npm run bench`: the benchmarks of this folder; each comes beside its physical limit and its peer.
import './sampling.mjs';
