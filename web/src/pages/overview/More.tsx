import { Link } from "react-router";
import { useRole } from "../../api/session";
import { Page } from "../../components/Page";
import { places, setUp } from "../../components/shell/nav";
import { Self } from "../../components/shell/Self";

/** On a phone: the places that the bottom bar has no room for. */
export function MorePage() {
  const role = useRole();
  const rest = [...places.slice(3), ...setUp, { to: "/account", word: "Account" }];
  return (
    <Page crumbs={[{ word: "More" }]}>
      <h1>More</h1>
      <nav className="card" aria-label="More places">
        {rest
          .filter((place) => !place.least || role(place.least))
          .map((place) => (
            <Link key={place.to} to={place.to} className="more-link">
              {place.word}
            </Link>
          ))}
      </nav>
      <div className="pad-phone small muted">
        <Self />
      </div>
    </Page>
  );
}
