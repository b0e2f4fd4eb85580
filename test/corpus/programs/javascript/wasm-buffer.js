const bytes = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);
console.log(WebAssembly.validate(bytes), Buffer.from("ü").toString("hex"), new TextDecoder("utf-16le").decode(new Uint8Array([104, 0])));
