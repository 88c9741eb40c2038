mesh reduce --trace_pe all
