// A process that starts an embedded server and says so, for tests that kill the process or run it as somebody else.
// It stops the server on any input, and ends by itself when its input is closed, since nothing else keeps it.
const [modulePath, dataDir] = process.argv.slice(2);
const { startEmbedded } = await import(modulePath);
const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

process.on("SIGINT", () => say({ kind: "interrupted" }));
try {
  const server = await startEmbedded({ dataDir });
  say({ kind: "ready", url: server.url, pid: server.pid });
  process.stdin.once("data", () => void server.stop().then(() => say({ kind: "stopped" })));
} catch (error) {
  process.stdin.destroy();
  say({ kind: "failed", code: error.code, message: error.message });
}
