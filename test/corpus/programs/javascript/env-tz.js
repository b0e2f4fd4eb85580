console.log(new Date(0).getHours(), Intl.DateTimeFormat().resolvedOptions().timeZone, new Date(0).toString());
