"""Who is meant: the people that a conversation mentions, and whom "she" or 他 stands for."""

from __future__ import annotations

from dataclasses import dataclass, field

from .relations import GENDER


@dataclass
class People:
    """The people mentioned so far, in the order in which they were last mentioned.

    ``speaker`` is the subject under which the present speaker's own statements go, ``listener`` the one they talk
    to, if there is just one, and ``asked`` whom the question before was about. Others are called by name where
    it is known, else by relation (``user's sister``). ``here`` are those of the present message, and ``written`` the
    words by which people were called last.
    """

    speaker: str
    listener: str | None = None
    asked: str | None = None
    mentioned: list[str] = field(default_factory=list)
    relations: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    genders: dict[str, str] = field(default_factory=dict)
    here: list[str] = field(default_factory=list)
    written: dict[str, str] = field(default_factory=dict)

    def related(
        self, relation: str, name: str | None = None, of: str | None = None, *, written: str | None = None
    ) -> str:
        """Note and return the subject for somebody's relative, of the speaker unless ``of`` says whose.

        ``written`` are the words that call them so: 我女儿.
        """
        key = f"{of or self.speaker}'s {relation}"
        if name:
            self.names[key] = name
            self.renamed(key, name)
            self.relations[name] = relation
        subject = self.names.get(key, key)
        gender = GENDER.get(relation, "n")
        if gender != "n" or subject not in self.genders:
            self.genders[subject] = gender
        if written:
            self.written[subject] = written
        return self._note(subject)

    def named(self, name: str) -> str:
        """Note and return the subject for a person called by name."""
        self.genders.setdefault(name, "n")
        return self._note(name)

    def pronoun(self, gender: str) -> str | None:
        """Return the person last mentioned whom a pronoun of this gender can mean."""
        fits = {"f": "fna", "m": "mna", "p": "p"}[gender]
        for subject in reversed(self.mentioned):
            if self.genders.get(subject, "n") in fits:
                if gender != "p" and self.genders[subject] == "n":
                    self.genders[subject] = gender  # from now on "he" and "she" are two people
                self._note(subject)
                return subject
        return None

    def begin_message(self) -> None:
        """Forget whom the message before mentioned, as far as the words for them matter."""
        self.here.clear()

    def words_for(self, pronoun: str) -> str:
        """Return the words of this message for whom a pronoun of this gender stands; empty where there may be two.

        ``a`` is the pronoun of an animal.
        """
        fits = {"f": "fna", "m": "mna", "p": "p", "a": "a"}[pronoun]
        found = [subject for subject in self.here if self.genders.get(subject, "n") in fits]
        if len(found) != 1:
            return ""
        return self.words_of(found[0])

    def words_of(self, subject: str) -> str:
        """Return the words of this message for somebody whom it mentions; empty where it calls them nothing."""
        if subject not in self.here:
            return ""
        return self.written.get(subject, "" if "'s " in subject else subject)

    def renamed(self, old: str, new: str) -> None:
        """Note that somebody mentioned is called by a name from now on."""
        self.here = list(dict.fromkeys(new if one == old else one for one in self.here))
        self.written[new] = new

    def known(self, name: str) -> bool:
        """Return whether somebody of this name has been mentioned."""
        return name in self.genders

    def _note(self, subject: str) -> str:
        if subject in self.mentioned:
            self.mentioned.remove(subject)
        self.mentioned.append(subject)
        if subject not in self.here:
            self.here.append(subject)
        return subject
