import datetime, locale, calendar
print(datetime.datetime(2024, 2, 29, 12).strftime("%A %d %B %Y %j"), calendar.month_abbr[2], locale.localeconv()["decimal_point"])
