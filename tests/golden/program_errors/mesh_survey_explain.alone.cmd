mesh survey --explain
