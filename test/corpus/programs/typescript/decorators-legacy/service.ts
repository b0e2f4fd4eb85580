export class Service { hello() { return "hello"; } }
export interface Options { loud: boolean }
