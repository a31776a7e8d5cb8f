"""The swarm: thousands of small hostile scenarios, drawn from seeds."""
