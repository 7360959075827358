#include "app/subjects/kernel_library.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <vector>

#include "engine/expect_error.h"

namespace pagoda::app {
namespace {

using testing::ExpectError;

class KernelLibraryTest : public ::testing::Test {
 protected:
  void SetUp() override { setenv("PAGODA_KERNELS", PAGODA_TEST_KERNELS, 1); }
  void TearDown() override { setenv("PAGODA_KERNELS", PAGODA_TEST_KERNELS, 1); }
};

TEST_F(KernelLibraryTest, TheLinksHoldTheSameVariantsAtOtherAddresses) {
  std::vector<std::shared_ptr<Kernels>> links;
  for (const int link : {0, 1, 2}) links.push_back(Kernels::Load(link));
  for (size_t i = 0; i < SoftmaxVariants().size(); ++i) {
    std::set<decltype(SoftmaxVariant::run)> addresses = {SoftmaxVariants()[i]->run};
    for (const auto& kernels : links) {
      ASSERT_EQ(kernels->library().softmax.size(), SoftmaxVariants().size());
      const SoftmaxVariant& variant = *kernels->library().softmax[i];
      EXPECT_EQ(variant.name, SoftmaxVariants()[i]->name);
      EXPECT_TRUE(addresses.insert(variant.run).second);
    }
  }
}

TEST_F(KernelLibraryTest, APoolIsMadeOncePerThreadCount) {
  const auto kernels = Kernels::Load(0);
  ThreadPool& two = kernels->Pool(2);
  EXPECT_EQ(two.threads(), 2);
  EXPECT_EQ(&kernels->Pool(2), &two);
  EXPECT_NE(&kernels->Pool(1), &two);
}

TEST_F(KernelLibraryTest, AMissingLibraryIsNamedWithThePlaceAndTheMend) {
  setenv("PAGODA_KERNELS", "/nowhere", 1);
  ExpectError(
      [] { Kernels::Load(1); }, "libpagoda_kernels_relink.so",
      "libpagoda_kernels_relink.so is not in /nowhere; set PAGODA_KERNELS to the folder that holds it",
      ErrorCode::kIo);
}

TEST_F(KernelLibraryTest, AFileThatIsNoLibraryIsRefused) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "pagoda_no_kernels";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "libpagoda_kernels.so") << "not an object";
  setenv("PAGODA_KERNELS", folder.c_str(), 1);
  try {
    Kernels::Load(0);
    ADD_FAILURE() << "was loaded";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kIo);
    EXPECT_NE(std::string(e.what()).find("can't be loaded"), std::string::npos) << e.what();
  }
  std::filesystem::remove_all(folder);
}

TEST_F(KernelLibraryTest, AWrongVariantGetsASuggestion) {
  ExpectError([] { FindVariant(SoftmaxVariants(), "gatherr"); }, "variant",
              "variant \"gatherr\" does not exist; did you mean \"gather\"?; see `pagoda list variants`");
}

}  // namespace
}  // namespace pagoda::app
