namespace Shape {
  export interface Sized { readonly size: number }
  export const unit = 2;
  export function area(side: number): number {
    return side * side * unit;
  }
  export namespace Deep {
    export let count = 0;
    export const next = () => ++count + unit;
  }
}
namespace Shape {
  export const twice = area(unit) * 2;
}
namespace OnlyTypes { export type T = string }
function tagged(text: string) { return `${tagged.mark}${text}`; }
namespace tagged { export const mark = "#"; }
class Box { constructor(readonly inner: Box.Inner) {} }
namespace Box { export class Inner { name = "inner"; } }
import Deep = Shape.Deep;
declare namespace Ambient { const nothing: number }
module Old { export const works = true; }

const sized: Shape.Sized = { size: Shape.area(3) };
console.log(sized.size, Shape.twice, Deep.next(), Deep.next(), Shape.Deep.count);
console.log(tagged("x"), new Box(new Box.Inner()).inner.name, Old.works);
