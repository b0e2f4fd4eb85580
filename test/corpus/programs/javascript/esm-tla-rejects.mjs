await Promise.reject(new TypeError("rejected at top level"));
