const n: number = await Promise.resolve(1);
type T = { a: string };

throw new Error("after await " + n);
