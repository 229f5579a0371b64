/** Labels as people write them: `name=value`, one a line or separated by commas. */
export function parseLabels(text: string): Record<string, string> | null {
  const labels: Record<string, string> = {};
  for (const part of text.split(/[\n,]/)) {
    const line = part.trim();
    if (line === "") continue;
    const at = line.indexOf("=");
    if (at < 1) return null;
    labels[line.slice(0, at).trim()] = line.slice(at + 1).trim();
  }
  return labels;
}

export function writeLabels(labels: Record<string, string>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join("\n");
}
