"""Programs in any language as hosts, stations and processes: started, notified of events, asked for actions, ended."""
