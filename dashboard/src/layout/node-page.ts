/** A page of the dashboard as another node serves it; null where its address is none that a link may lead to. */
export function nodePage(url: string | null, hash: string): string | null {
  return url !== null && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
    ? `${url.replace(/\/$/, "")}/${hash}`
    : null;
}
