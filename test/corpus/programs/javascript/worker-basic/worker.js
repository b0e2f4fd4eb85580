const { parentPort, workerData, isMainThread } = require("worker_threads");
parentPort.postMessage({ twice: workerData.n * 2, isMainThread, argv: process.argv.slice(2), execArgv: process.execArgv, cache: Object.keys(require.cache).length, main: require.main === module, env: Object.keys(process.env).length });
