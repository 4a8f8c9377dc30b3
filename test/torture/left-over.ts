/** What a run leaves behind when it is killed carries its pid; whether that run still goes on. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // It is somebody else's.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
