// `npm run bench`: runs every benchmark in this folder. There is none yet; each comes beside its physical limit and its peer.
console.log('No benchmarks yet.');
