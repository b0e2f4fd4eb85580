interface Long {
  a: string;
  b: number;
}

function fail(x: Long): never {
  throw new TypeError(`bad ${x.a}`);
}

fail({ a: "x", b: 1 });
