/** Limits on computing time that hold on a busy machine too. */

/** Returns the CPU time that this process has used, in milliseconds; other processes on the machine do not add to it. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
