console.log("%s is %d and %j %o", "x", 4.5, { a: 1 }, [1]);
console.table([{ a: 1, b: 2 }, { a: 3, b: 4 }]);
console.group("g"); console.log("in"); console.groupEnd();
console.log(new Map([[1, { a: new Set([1]) }]]), [undefined, null, , 3], Symbol("s"), 10n, class A {}, () => {}, new Proxy({}, {}));
console.assert(false, "assertion"); console.count(); console.dir({ deep: { a: { b: { c: 1 } } } }, { depth: 0 });
