module.exports = {
  apps: [
    {
      name: "holdfast",
      script: "node_modules/holdfast/dist/cli/main.js",
      args: "serve",
      // Two nodes, each with a port of its own. In cluster mode they would share one, and nobody could ask the leader.
      exec_mode: "fork",
      instances: 2,
      increment_var: "HOLDFAST_API_PORT",
      env: { HOLDFAST_CLUSTER_ENABLED: "true", HOLDFAST_API_PORT: 7400 },
      // SIGINT drains; PM2 kills what has not ended by then. The drain timeout, 15 s to leave, and some room.
      kill_timeout: 60_000,
      // The signal goes to the node alone: a child that gets one of its own would stop at once.
      treekill: false,
      // Settings that are wrong are not mended by another start.
      stop_exit_codes: [2],
    },
  ],
};
