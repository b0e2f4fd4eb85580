export const a = 1;
class { foo(: string }
