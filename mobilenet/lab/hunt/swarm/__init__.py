"""The swarm: run thousands of small hostile scenarios, drawn from seeds."""
