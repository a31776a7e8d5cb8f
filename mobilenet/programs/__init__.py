"""Programs in any language as hosts, stations and processes: started, told what happens, asked what they do, ended."""
