throw { code: 5, list: [1, 2] };
