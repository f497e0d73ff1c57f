"""``ragtrace evaluate``: run the app, judge its answers, resume, sum up."""
