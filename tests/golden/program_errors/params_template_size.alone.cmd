params --template gpt3
