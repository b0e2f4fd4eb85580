const ok: number = 1;
let bad: string = ;
