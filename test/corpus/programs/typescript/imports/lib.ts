export interface Shape { w: number }
export const named: string = "named";
export default (n: number): number => n * 2;
