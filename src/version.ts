/** The version of this package. A test holds it to package.json. */
export const version: string = "0.1.0";
