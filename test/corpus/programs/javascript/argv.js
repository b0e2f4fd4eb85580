console.log(process.argv.slice(2), process.argv.length, process.execArgv, process.argv[0] === process.execPath, process.argv[1] === __filename);
