function foo(...a: any[]): any {}
class A { m(@foo a: any) {} }
console.log("ran", new A());
