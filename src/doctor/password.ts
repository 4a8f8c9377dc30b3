/** What to do where the database does not let a user in. */
export const passwordAdvice = "Check the user and the password (HOLDFAST_STORE_PASSWORD, or the one in the URL).";

/** PostgreSQL's SQLSTATE for a password that is not the user's. */
export const wrongPassword = "28P01";

/** Where the server asks for a password and nobody gave one it is the driver that complains, in words only. */
export function lacksPassword(said: string): boolean {
  return said.includes("client password must be a");
}
