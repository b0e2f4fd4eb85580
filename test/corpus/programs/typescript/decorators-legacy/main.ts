import { Service, type Options } from "./service";

const known = new Map<unknown, Record<string, unknown[]>>();
(Reflect as any).metadata = (key: string, value: unknown) => (target: any, property?: string) => {
  const all = known.get(target) ?? {};
  known.set(target, { ...all, [`${property ?? "class"} ${key}`]: ([] as any[]).concat(value).map((each) => each?.name) });
};
const order: string[] = [];
const injectable = (name: string) => (target: Function) => { order.push(`${name} ${target.name}`); };
const field = (target: object, key: string) => { order.push(`field ${key}`); };
const param = (_target: object, key: string | undefined, index: number) => { order.push(`param ${key} ${index}`); };
const method = (_target: object, key: string, descriptor: PropertyDescriptor) => {
  const plain = descriptor.value;
  descriptor.value = function (...args: unknown[]) { return `<${plain.apply(this, args)}>`; };
  order.push(`method ${key}`);
};

@injectable("controller")
class Controller {
  @field title!: string;
  constructor(private readonly service: Service, @param options?: Options) {}
  @method greet(@param who: string, times = 1): string { return `${this.service.hello()} ${who}`.repeat(times); }
}
console.log(new Controller(new Service()).greet("you"), Object.keys(new Controller(new Service())).join());
console.log(order.join(", "));
console.log(JSON.stringify(known.get(Controller)), JSON.stringify(known.get(Controller.prototype)));
