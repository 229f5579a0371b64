/** Tags stand beside a state, in ink; they never change its shape or colour. */
export function Tags(props: {
  low?: boolean;
  stale?: boolean;
  flapping?: boolean;
  doubt?: boolean;
  simulated?: boolean;
}) {
  const tags = [
    props.low && ["low confidence", "Some locations are missing from the count."],
    props.stale && ["evidence stale", "It was so when it was last seen; too few locations report since."],
    props.flapping && ["flapping", "It fails and recovers again and again, and is held as one outage."],
    props.doubt && ["locations in doubt", "More locations look impaired than may be set aside, so every vote counts."],
    props.simulated && ["simulated", "Runs beside Quorate and shares this machine's line."],
  ].filter((tag): tag is string[] => Array.isArray(tag));
  return tags.map(([word, sentence]) => (
    <span key={word}>
      {" "}
      <span className="tag" title={sentence}>
        {word}
      </span>
    </span>
  ));
}
