/** The environment's name of a setting: store.pool_size is HOLDFAST_STORE_POOL_SIZE. */
export function environmentName(path: string): string {
  return `HOLDFAST_${path.replaceAll(".", "_").toUpperCase()}`;
}
