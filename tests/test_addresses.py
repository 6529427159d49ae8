"""What is shown and saved of addresses: never a password, nor what may be one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siltstone.text.addresses import shown_address, without_secrets


@pytest.mark.parametrize(
    ("address", "clean", "seen"),
    [
        (
            "postgresql://u:s3cret@h:5/db?sslmode=require",
            "postgresql://u@h:5/db?sslmode=require",
            "postgresql://u@h:5/db",
        ),
        ("rediss://:s3cret@h:6380/0?ssl_keyfile=/k", "rediss://h:6380/0?ssl_keyfile=/k", "rediss://h:6380/0"),
        ("redis://s3cret@h", "redis://h", "redis://h"),
        ("postgresql://u:s3cret@h:5,i:6/db?password=s3cret", "postgresql://u@h:5,i:6/db", "postgresql://u@h:5,i:6/db"),
        (
            "postgresql://u@/db?password=s3cret&host=/run/pg&application_name=a&port=6",
            "postgresql://u@/db?host=/run/pg&application_name=a&port=6",
            "postgresql://u@/db?host=/run/pg&port=6",
        ),
        ("redis://:pass s3cret@h:6379", "redis://h:6379", "redis://h:6379"),
        ("unix:///run/redis.sock?db=1&password=s3cret", "unix:///run/redis.sock?db=1", "unix:///run/redis.sock"),
        ("openai:qwen@https://me:s3cret@h/v1?key=s3cret", "openai:qwen@https://h/v1", "openai:qwen@https://h/v1"),
        ("https://h/v1?code=7", "https://h/v1?code=7", "https://h/v1"),
        ("redis://u:s3cret@[::1", "redis://…", "redis://…"),
        ("redis://u:s3/cret@h", "redis://…", "redis://…"),
        ("https://u:s3/cret@h", "https://…", "https://…"),
        ("a folder: that is no address?", "a folder: that is no address?", "a folder: that is no address?"),
    ],
)
def test_addresses_are_told_without_secrets(address: str, clean: str, seen: str) -> None:
    """What is saved still opens what it named; what is shown has no parameters but those that say which server."""
    assert without_secrets(address) == clean
    assert shown_address(address) == seen


@given(st.text(st.characters(exclude_characters="@", exclude_categories=["Cs"]), min_size=4))
def test_no_password_is_left_whatever_it_holds(password: str) -> None:
    """Whatever a password is made of, neither form of the address has it."""
    told = f"redis://user:X{password}X@host:6379/0"
    for form in (without_secrets(told), shown_address(told)):
        assert f"X{password}X" not in form
