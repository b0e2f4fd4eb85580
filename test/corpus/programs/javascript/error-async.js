setTimeout(() => { null.x; }, 5);
