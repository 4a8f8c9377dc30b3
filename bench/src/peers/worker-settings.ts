/**
 * What is taken in is durable before the call returns, for every system. What was worked off may be worked off again after a
 * crash of the server: Holdfast commits that without waiting for the disk, and so do the sessions of the peers' workers.
 */
export const workerSettings = "-c synchronous_commit=off";
