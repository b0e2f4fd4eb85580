console.log(typeof fs, typeof globalThis.require, typeof globalThis.module);
