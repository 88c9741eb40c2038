mesh survey --words 3
